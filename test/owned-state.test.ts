import { readFileSync, readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

const root = resolve(import.meta.dirname, '..')
// The dashboard runs in browsers.
const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.startsWith('clients/dashboard'),
)

/** What holds more than a value: collections, and what fires later. */
const holders =
  /\b(?:Map|Set|WeakMap|WeakSet|LRUCache|lastUsed|DueHeap|RateLimiter|SlidingWindow|KeyedMutex|Timeout|CancelTimer|FileHandle)\b/
const emptyHolder = /^(?:new (?:Map|Set|WeakMap|WeakSet)(?:<[^(]*>)?\(\)|new LRUCache|lastUsed)/

type Node = Record<string, unknown> & { type: string; start: number; end: number }

/** `file` for a file with a field that changes, `file: field` for what holds more than a value. */
function statesOf(file: string): string[] {
  const code = readFileSync(join(root, 'src', file), 'utf8')
  const text = ({ start, end }: Node): string => code.slice(start, end)
  const nameOf = (key: Node): string => String(key['name'])
  const program = parseAst(code, { lang: 'ts', astType: 'ts' }) as unknown as Node
  const fields = nodesIn(program, 'PropertyDefinition').map((field) => ({
    name: nameOf(field['key'] as Node),
    isHolder: holders.test(text(field).split('=>')[0] ?? ''),
    isFixed: field['readonly'] === true,
  }))
  const declarations = (program['body'] as Node[])
    .map((node) => (node.type === 'ExportNamedDeclaration' ? (node['declaration'] as Node | null) : node))
    .filter((node) => node?.type === 'VariableDeclaration') as Node[]
  const variables = declarations.flatMap(({ kind, declarations: each }) =>
    (each as Node[]).map((declarator) => ({
      name: nameOf(declarator['id'] as Node),
      isHolder: kind === 'let' || emptyHolder.test(declarator['init'] ? text(declarator['init'] as Node) : ''),
      isFixed: true,
    })),
  )
  const name = basename(file, '.ts')
  return [...fields, ...variables].flatMap((field) => (field.isHolder ? [`${name}: ${field.name}`] : field.isFixed ? [] : [name]))
}

function nodesIn(node: unknown, type: string): Node[] {
  if (Array.isArray(node)) return node.flatMap((each) => nodesIn(each, type))
  if (typeof node !== 'object' || node === null) return []
  const below = Object.values(node).flatMap((each) => nodesIn(each, type))
  return (node as Node).type === type ? [node as Node, ...below] : below
}

const found = new Set(files.flatMap(statesOf))

/** From the table of docs/scaling.md; each file that is named with fields counts as named. */
const table = readFileSync(join(root, 'docs/scaling.md'), 'utf8').split('## In memory')[1] ?? ''
const owned = Array.from(table.matchAll(/`([\w.-]+)(?:: ([\w, ]+))?`/g), ([, file = '', names]) => ({
  file,
  states: names?.split(', ').map((name) => `${file}: ${name}`) ?? [],
}))

test('every state that lives in a process has an owner in docs/scaling.md', () => {
  const known = new Set(owned.flatMap(({ file, states }) => [file, ...states]))
  expect(Array.from(found).filter((state) => !known.has(state))).toEqual([])
})

test('and every state that is named there exists', () => {
  const names = new Set(files.map((file) => basename(file, '.ts')))
  const gone = owned.flatMap(({ file, states }) => (names.has(file) ? states.filter((state) => !found.has(state)) : [file]))
  expect(gone).toEqual([])
})
