"""Reports as HTML files: a page that needs no network, its tables and its charts."""
