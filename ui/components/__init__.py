"""The app's own Streamlit components."""
