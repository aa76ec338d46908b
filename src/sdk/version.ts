/** The version of this package, as package.json has it. */
export const VERSION = '0.1.0';

/** This package, as its workers name it in a hello. */
export const SDK_NAME = `spindle-ts/${VERSION}`;
