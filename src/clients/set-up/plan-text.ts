import type { Change } from './plan-changes.ts'
import { setUpFields } from './set-up-fields.ts'
import { objectLabel } from './set-up-object.ts'

/** A change as one line: `change  account shop: plan: free → starter`. It never shows a secret. */
export function changeLine(change: Change): string {
  const { action, kind, fields } = change
  const [naming] = Object.keys(setUpFields[kind])
  const words = fields.filter(({ name }) => action !== 'create' || name !== naming).map((field) => fieldWords(change, field))
  const besides = action === 'remove' && kind === 'account' ? ', with its keys, users, webhooks, domains, templates and suppressions' : ''
  return `${action}  ${objectLabel(change)}${besides}${words.length > 0 ? `: ${words.join(', ')}` : ''}`
}

function fieldWords({ action, kind }: Change, { name, from, to }: Change['fields'][number]): string {
  const { reference, words } = setUpFields[kind][name] ?? {}
  if (reference === 'required') return to === null ? `${name} removed` : `${name} ${action === 'create' ? 'as given' : 'replaced'}`
  const word = (value: unknown): string =>
    reference === 'allowed' ? lengthWord(value) : valueWord(value !== null && value !== undefined && words ? words(value) : value)
  return action === 'create' ? `${name} ${word(to)}` : `${name} ${word(from)} → ${word(to)}`
}

const lengthWord = (value: unknown): string => (typeof value === 'string' ? `(${value.length} characters)` : 'none')

/** Longer values say little in a line. */
const maxValueLength = 100

function valueWord(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value !== 'object') return cut(String(value))
  if (Array.isArray(value) && value.length === 0) return 'none'
  return cut(Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join(',') : JSON.stringify(value))
}

const cut = (text: string): string => (text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text)
