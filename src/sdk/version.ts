/** This package, as its workers name it in a hello. The version is that of package.json. */
export const SDK_NAME = 'spindle-ts/0.1.0';
