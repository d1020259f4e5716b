"""The numbers of the paper, as far as its text and tables have them. Figures 6 to 10 are pictures
without numbers."""


__all__ = ["GAIN", "OF_GORDER", "REORDERING", "TILING"]


#: Largest gain of a reordering, of all graphs: on twitter (7.2).
GAIN = {"bfs": 0.361, "bc": 0.805, "pagerank": 1.093}

#: On twitter, BFS after the fifth round: the share of Gorder's speed (7.2).
OF_GORDER = 0.956

#: Seconds of a reordering, and of a round of SAGE's (table 2).
REORDERING = {
    "uk-2002": {"rcm": 89.2, "llp": 313.4, "gorder": 45.1, "sage": 0.1533},
    "brain": {"rcm": 33.6, "llp": 236.7, "gorder": 171.7, "sage": 0.9932},
    "ljournal": {"rcm": 17.4, "llp": 135.5, "gorder": 103.6, "sage": 0.0394},
    "twitter": {"rcm": 523.5, "llp": 2737.1, "gorder": 12615.5, "sage": 1.2894},
    "friendster": {"rcm": 654.6, "llp": 4343.5, "gorder": 15207.7, "sage": 1.4956}}

#: Milliseconds of tiling, and of the whole run (table 3).
TILING = {
    "uk-2002": {"bfs": (1.6, 14.1), "bc": (2.9, 28.7), "pagerank": (0.6, 7.1)},
    "brain": {"bfs": (1.1, 16.2), "bc": (2.4, 37.4), "pagerank": (0.1, 5.9)},
    "ljournal": {"bfs": (1.3, 7.0), "bc": (2.0, 32.9), "pagerank": (0.2, 10.4)},
    "twitter": {"bfs": (6.7, 63.2), "bc": (8.7, 540.8), "pagerank": (2.0, 415.7)},
    "friendster": {"bfs": (15.4, 99.3), "bc": (22.5, 791.5), "pagerank": (2.5, 718.1)}}
