/**
 * What the API tells people in sentences. Each wording is declared once, in English, under a code that stays. The API shows the code and the
 * parameters beside the sentences, so that others can say the same in another language.
 */
export interface Wording {
  /** `{name}` stands for a parameter. */
  what: string
  /** What to do about it; none if there is nothing to do. */
  advice?: string
}

type NamesIn<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type NamesOf<W extends Wording> = NamesIn<W['what']> | NamesIn<W['advice']>

/** Numbers are as they were measured; times are in ISO 8601. */
type WordingParameters = Record<string, string | number>

/** A wording with its parameters, and both in English. */
export interface Worded<Code extends string = string> {
  code: Code
  parameters: WordingParameters
  what: string
  advice: string | null
}

/** The parameters of a wording; no argument if it has none. */
export type Given<W extends Wording> = [NamesOf<W>] extends [never] ? [] : [parameters: Record<NamesOf<W>, string | number>]

/** Makes the function that words the codes of a table. */
export const wordWith =
  <const T extends Record<string, Wording>>(wordings: T) =>
  <Code extends keyof T & string>(code: Code, ...given: Given<T[Code]>): Worded<Code> => {
    const [parameters = {}]: WordingParameters[] = given
    const { what, advice } = wordings[code] as Wording
    return { code, parameters, what: filled(what, parameters), advice: advice === undefined ? null : filled(advice, parameters) }
  }

/** The codes of a table, as a schema lists them. */
export const codesOf = <T extends Record<string, Wording>>(wordings: T): (keyof T & string)[] => Object.keys(wordings)

/** A text with its parameters in place. */
export const filled = (text: string, parameters: WordingParameters): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(parameters[name] ?? whole))
