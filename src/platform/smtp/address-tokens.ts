/** A piece of an address field (RFC 5322 3.2). `text` is without quotation marks, brackets or parentheses, and without their escapes. */
export interface Piece {
  kind: 'text' | 'quoted' | 'angle' | 'comment'
  text: string
  start: number
  end: number
}

export type Token = Piece | { kind: ',' | ';' | ':'; text: string; start: number; end: number }

export const isPiece = (token: Token): token is Piece => token.kind !== ',' && token.kind !== ';' && token.kind !== ':'

/** Where the quoted string or comment that begins at `start` ends; -1 if it does not. */
function closeOf(text: string, start: number): number {
  const isQuoted = text[start] === '"'
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const character = text[i]
    if (character === '\\') i++
    else if (isQuoted && character === '"' && i > start) return i
    else if (!isQuoted && character === '(') depth++
    else if (!isQuoted && character === ')' && --depth === 0) return i
  }
  return -1
}

/** Where the `<` at `start` is closed; -1 if it is not. A `>` inside quotation marks does not count. */
function angleCloseOf(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '>') return i
    if (text[i] === '<') return -1
    if (text[i] === '"') {
      i = closeOf(text, i)
      if (i < 0) return -1
    }
  }
  return -1
}

const special = /["(<,;:]/g
const enclosed = {
  '"': { kind: 'quoted', close: closeOf, fault: 'A quotation mark is not closed. Close it, or write \\" for one inside quotation marks.' },
  '(': { kind: 'comment', close: closeOf, fault: 'A parenthesis is not closed. Close it, or put the name in quotation marks.' },
  '<': { kind: 'angle', close: angleCloseOf, fault: 'An angle bracket is not closed. Write Name <address>.' },
} as const

function tokenAt(text: string, start: number): Token | string {
  const character = text.charAt(start)
  if (character === ',' || character === ';' || character === ':') return { kind: character, text: character, start, end: start + 1 }
  if (character === '"' || character === '(' || character === '<') {
    const { kind, close, fault } = enclosed[character]
    const last = close(text, start)
    if (last < 0) return fault
    const inside = text.slice(start + 1, last)
    return { kind, text: kind === 'angle' ? inside : inside.replace(/\\(.)/gsu, '$1'), start, end: last + 1 }
  }
  special.lastIndex = start
  const end = special.exec(text)?.index ?? text.length
  return { kind: 'text', text: text.slice(start, end), start, end }
}

/** More than the largest header has addresses: each token costs time. */
const maxTokens = 100_000

/** The tokens of an address field without the blanks between them, or what is wrong with it. */
export function tokensOf(text: string): Token[] | string {
  const tokens: Token[] = []
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at)
    if (typeof token === 'string') return token
    if (token.kind !== 'text' || /[^ \t]/.test(token.text)) tokens.push(token)
    at = token.end
    if (tokens.length > maxTokens) return 'It has too many parts.'
  }
  return tokens
}
