/** What a text is read of at most, in UTF-16 units: the replies of RFC 5321 4.2 have 512 bytes a line. */
const longestText = 2000
/** Ends a sentence; no phrase reaches over it. */
const sentenceEnd = '.'

const address = /[^\s<>()[\]"',:;]{1,128}@(?:[\p{L}\p{N}_-]{1,63}(?:\.[\p{L}\p{N}_-]{1,63})*)?/gu
/** `l'adresse`, `n'existe`: two words, unlike `doesn't`. */
const elision = /(?<!\p{L})\p{L}['’](?=\p{L})/gu
const ideograph = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]`
/** A number of several parts is one word; of scripts without spaces each character is. */
const word = new RegExp(String.raw`\d+(?:\.\d+)*|(?=${ideograph})\p{L}|(?:(?!${ideograph})\p{L})+|@|[.;!?](?!\S)|。`, 'gu')

/** Letters that Unicode does not decompose, as they are written without them. */
const undecomposed: Record<string, string> = { ł: 'l', ß: 'ss', ø: 'o', œ: 'oe', æ: 'ae' }

/**
 * The words of what a mail system said: lower case, without accents, apostrophes and punctuation, an address as `@`, the
 * end of a sentence as `.`. So neither spelling nor line breaks nor the names in a reply decide what it is taken for.
 */
export function wordsOf(text: string, longest = longestText): string[] {
  const bare = text.slice(0, longest).replace(address, '@').replace(elision, ' ').normalize('NFKD').replace(/\p{M}|['’`´]/gu, '')
  const plain = bare.toLowerCase().replace(/[łßøœæ]/g, (letter) => undecomposed[letter] ?? letter)
  return Array.from(plain.matchAll(word), ([found]) => (/^[.;!?。]$/.test(found) ? sentenceEnd : found))
}
