#!/bin/sh
# The reactor of reactor.py from the command line: a model file, a network file, and which columns belong to the network.
#
#     sh examples/command_line.sh
set -e
cd "$(dirname "$0")"
mkdir -p ../out

# What is in the network, and can it be embedded?
python -m dcembed info reactor.onnx

# Solve, and prove in the time that is left how much better a point could be at most. Names may be patterns ("x*"); the start is how the reactor is run today.
python -m dcembed solve reactor.lp --network reactor.onnx \
    --inputs temperature time feed charges --outputs margin impurity \
    --start reactor_today.sol --time-limit 10 --prove --option max_starts=1 \
    --solution ../out/reactor.json --trace ../out/reactor.csv --plot ../out/reactor_run.png

# Two reactors at once: several embeddings are listed in a file.
python -m dcembed solve two_reactors.lp --embeddings two_reactors.toml --time-limit 10 --prove --option max_starts=2 --solution ../out/two_reactors.sol
