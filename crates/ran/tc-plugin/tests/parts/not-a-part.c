/* A shared object that is not a plug-in for traffic control. */
int ferric_nothing(void) { return 0; }
