"""What messages say, and how their bytes are read: those of a topic and those of a bag alike."""
