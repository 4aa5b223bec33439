import { effect, signal } from '@preact/signals'
import { session } from './api/client.ts'
import type { Template } from './api/types.ts'

/** A template as it stands in the fields of the editor. */
export interface TemplateContent {
  name: string
  alias: string
  subject: string
  html: string
  /** Null: made from the html. */
  text: string | null
  from: string
  /** Addresses with commas between them. */
  replyTo: string
  layout: string
  variables: DraftVariable[]
}

export interface DraftVariable {
  key: string
  type: 'string' | 'number'
  /** Empty: every email must give a value. */
  fallback: string
}

interface Draft {
  /** When the template was changed last before the draft was begun; null right after it was saved. */
  base: string | null
  content: TemplateContent
}

/**
 * What was changed and not saved, by the ids of the templates. It is kept while the tab is open, so neither another page nor the end of a
 * session loses it; only the next user finds nothing.
 */
const drafts = signal<ReadonlyMap<string, Draft>>(new Map())

/** The draft of a template, if there is one. */
export const draftOf = (id: string): Draft | undefined => drafts.value.get(id)

/** Keeps what the fields hold; once they hold what is saved, there is no draft. */
export function keepDraft(template: Template, content: TemplateContent): void {
  const kept = new Map(drafts.value)
  if (JSON.stringify(content) === JSON.stringify(contentOf(template))) kept.delete(template.id)
  else kept.set(template.id, { base: kept.get(template.id)?.base ?? template.updated_at, content })
  drafts.value = kept
}

/** The template was saved as `content`: what was typed since then is a draft of its own. */
export function settleDraft(id: string, content: TemplateContent): void {
  const draft = drafts.value.get(id)
  if (!draft || draft.content === content) forgetDraft(id)
  else drafts.value = new Map(drafts.value).set(id, { ...draft, base: null })
}

export function forgetDraft(id: string): void {
  const kept = new Map(drafts.value)
  kept.delete(id)
  drafts.value = kept
}

let writer: string | undefined
session.subscribe((current) => {
  const user = current?.user.id
  if (user === undefined) return
  if (writer !== undefined && writer !== user) drafts.value = new Map()
  writer = user
})

const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
effect(() => {
  if (drafts.value.size > 0) addEventListener('beforeunload', ask)
  else removeEventListener('beforeunload', ask)
})

export const contentOf = (template: Template): TemplateContent => ({
  name: template.name,
  alias: template.alias ?? '',
  subject: template.subject ?? '',
  html: template.html,
  text: template.text,
  from: template.from ?? '',
  replyTo: template.reply_to?.join(', ') ?? '',
  layout: template.layout ?? '',
  variables: template.variables.map(({ key, type, fallback_value: fallback }) => ({ key, type, fallback: String(fallback ?? '') })),
})

/** As the API takes it. */
export const bodyOf = ({ name, alias, subject, html, text, from, replyTo, layout, variables }: TemplateContent) => ({
  name,
  alias: orNull(alias),
  subject: orNull(subject),
  html,
  text,
  from: orNull(from),
  reply_to: replyTo
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== ''),
  layout: orNull(layout),
  variables: variables.map(declared),
})

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

/** A variable as the API takes it. */
export const declared = ({ key, type, fallback }: DraftVariable) => ({
  key,
  type,
  fallback_value: fallback === '' ? null : type === 'number' ? numberOr(fallback) : fallback,
})

/** What is no number goes to the server as it is, which says so. */
const numberOr = (text: string): number | string => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text))

/** Values of a preview as an email would give them: a list or an object is typed as JSON, and an empty field gives none. */
export function valuesOf(typed: Record<string, string>, variables: readonly DraftVariable[]): Record<string, unknown> {
  const types = new Map(variables.map(({ key, type }) => [key, type]))
  return Object.fromEntries(
    Object.entries(typed)
      .filter(([, text]) => text !== '')
      .map(([key, text]) => [key, types.get(key) === 'number' ? numberOr(text) : types.has(key) ? text : jsonOr(text)]),
  )
}

function jsonOr(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
