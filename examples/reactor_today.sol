# How the reactor is run today; predictions need no value.
temperature 345
time 8
feed 1
charges 1
