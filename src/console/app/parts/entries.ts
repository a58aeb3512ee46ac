/** Returns the names and values of an object whose type has all of its names. */
export const entriesOf = <Name extends string, Value>(of: Record<Name, Value>) => Object.entries(of) as [Name, Value][];

/** Returns the names alone. */
export const namesOf = <Name extends string>(of: Record<Name, unknown>) => Object.keys(of) as Name[];
