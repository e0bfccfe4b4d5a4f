"""What `PCA` loses, over what batch PCA loses on the same rows, against what is promised.

*Excess* is by how much k directions capture less than the best k, divided by the same of batch PCA:
1 is as good as batch PCA, and less is better. It is measured on the distribution where that is
known, otherwise on rows that were not learned from. A study is a row of the table.
"""
