"""What is shown: reports, the live page, figures, the site."""
