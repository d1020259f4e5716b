"""The Stream Compaction Unit (Segura et al., ISCA 2019)."""
