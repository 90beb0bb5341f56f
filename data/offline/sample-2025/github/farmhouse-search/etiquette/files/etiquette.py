def polite(query):
    words = [w for w in query.split() if w.lower() not in {'the', 'a', 'of'}]
    return 'Could you find ' + ' '.join(words) + ', please?'
