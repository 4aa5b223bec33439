/** UTF-16 units read of a text. Replies (RFC 5321 4.2) have 512 bytes per line. */
const maxTextLength = 2000
/** Ends a sentence, as a bar does that joins what stood apart. Phrases do not cross it. */
export const sentenceEnd = '.'

const address = /[^\s<>()[\]"',:;]{1,128}@(?:[\p{L}\p{N}_-]{1,63}(?:\.[\p{L}\p{N}_-]{1,63})*)?/gu
/** `l'adresse`, `n'existe`: two words, unlike `doesn't`. */
const elision = /(?<!\p{L})\p{L}['’](?=\p{L})/gu
const ideograph = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]`
/** Dotted numbers are one word. In scripts without spaces each character is a word. */
const word = new RegExp(String.raw`\d+(?:\.\d+)*|[\p{L}&&${ideograph}]|[\p{L}--${ideograph}]+|@|[.;!?](?!\S)|(?<!\S)[\|](?!\S)|。`, 'gv')
/** The same for ASCII, which most systems write. */
const asciiWord = /\d+(?:\.\d+)*|[a-z]+|@|[.;!?](?!\S)|(?<!\S)\|(?!\S)/g

/** Letters that Unicode does not decompose, and their plain spelling. */
const undecomposed: Record<string, string> = { ł: 'l', ß: 'ss', ø: 'o', œ: 'oe', æ: 'ae' }

/**
 * Reduces a mail system's text to words: lower case, no accents, apostrophes or punctuation, an address as `@`, the end of a sentence as
 * `.`. So spelling, line breaks and names do not affect the result.
 */
export function wordsOf(text: string, longest = maxTextLength): string[] {
  const read = text.slice(0, longest)
  const unnamed = read.includes('@') ? read.replace(address, '@') : read
  const whole = /['’]/.test(unnamed) ? unnamed.replace(elision, ' ') : unnamed
  const found = isAscii(whole) ? whole.toLowerCase().replace(/['`]/g, '').match(asciiWord) : plainLetters(whole).match(word)
  return found?.map((each) => (/^[.;!?。|]$/.test(each) ? sentenceEnd : each)) ?? []
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

function plainLetters(text: string): string {
  const bare = text.normalize('NFKD').replace(/\p{M}|['’`´]/gu, '')
  return bare.toLowerCase().replace(/[łßøœæ]/g, (letter) => undecomposed[letter] ?? letter)
}
