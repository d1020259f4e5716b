"""Many runs: benchmarks, tuner, reproductions of the papers, and where the runs are done."""
