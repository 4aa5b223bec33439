/** Words for each name that the API has for something, and perhaps for other names. A name without a word does not pass the type check. */
export type Words<Name extends string, Word = string> = Record<Name, Word> & Record<string, Word>

/** Marks them as such, in the texts from which the types of all languages are taken. */
export const words = <Name extends string, Word = string>(each: Words<Name, Word>): Words<Name, Word> => each
