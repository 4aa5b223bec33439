import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'vitest/node'

/** A piece of SQL as it stands in the source. */
export interface SqlLiteral {
  /** `queue/settle.ts: update recipient set …` */
  name: string
  /** True of a statement that this piece is in. */
  isIn(statement: string): boolean
}

const beginning = /^\s*(?:select\s|insert into\s|update \S+\s+set\s|delete from\s|with \w+ as\s)/i
/** Fragments that statements are put together from hold a parameter, or ask for rows of another table. */
const fragment = /(?:[=<>(,+]|\b(?:like|limit|in|select|and|or|when|then|else))\s*:[a-z]\w*|\bexists \(\s*select\s/

/** Every literal of the source that is SQL or a fragment with a parameter; the SQL of the engines' own files is left out. */
export function sqlLiterals(directory: string): SqlLiteral[] {
  // The dashboard has no SQL, but sentences that begin with `Select`. What an engine runs for itself is tried on it alone.
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('clients/dashboard') && !/^platform\/store\/(?:postgresql|sqlite)\//.test(file),
  )
  return files.toSorted().flatMap((file) => {
    const program: unknown = parseAst(readFileSync(join(directory, file), 'utf8'), { lang: 'ts', astType: 'ts' })
    return literalsIn(program)
      .filter((parts) => beginning.test(parts[0] ?? '') || fragment.test(parts.join(' ')))
      .map((parts) => literalOf(file, parts))
  })
}

function literalOf(file: string, parts: string[]): SqlLiteral {
  const text = oneLine(parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*'))
  // A query may be part of another statement; a change is one by itself.
  const pattern = new RegExp(/^ ?(?:insert|update|delete) /i.test(text) ? `^${text}$` : text)
  return { name: `${file}: ${oneLine(parts.join('…')).trim()}`, isIn: (statement) => pattern.test(oneLine(statement)) }
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ')

/** The strings and templates below a node, each as the texts between its `${…}`. */
function literalsIn(node: unknown): string[][] {
  if (Array.isArray(node)) return node.flatMap(literalsIn)
  if (typeof node !== 'object' || node === null) return []
  const found = Object.values(node).flatMap(literalsIn)
  if (isNode(node, 'Literal') && typeof node['value'] === 'string') return [[node['value']]]
  if (isNode(node, 'TemplateLiteral')) {
    const quasis = node['quasis'] as { value: { cooked: string } }[]
    return [quasis.map(({ value }) => value.cooked), ...found]
  }
  return found
}

const isNode = (node: object, type: string): node is Record<string, unknown> => 'type' in node && node.type === type
