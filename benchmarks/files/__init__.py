"""Files that real tools write, each read whole and compared with the tool's own reader.

A file is *read* if all values agree, a missing one being NaN. It is *refused* if it cannot be, or
if one more option is needed: then the message has to name it, and with it the file has to be read.
Anything else is a file *refused without need*, *misread*, or a *crash*.
"""
