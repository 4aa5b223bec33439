type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** The members that are not undefined, so that missing fields of a request stay unchanged. */
export const given = <T extends object>(members: T): Given<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>
