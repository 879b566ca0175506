"""Words or texts to labels: runs loaded, taggers, classifiers, and what they predict."""
