/* A shared object that exports no part of traffic control. */
int ferric_nothing(void) { return 0; }
