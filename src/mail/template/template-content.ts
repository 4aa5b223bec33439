import type { FieldFault } from '../../platform/errors.ts'
import { parseMailbox } from '../../platform/smtp/mailbox.ts'
import { parseTemplate, type Insertion, type TemplateNode } from './parse-template.ts'

/** A variable that the owner has declared: it has a fallback or is required. */
export interface DeclaredVariable {
  key: string
  type: 'string' | 'number'
  fallbackValue: string | number | null
  /** Epoch, ms. */
  createdAt: number
  updatedAt: number
}

/** How many variables a template may declare, including those of its layout and partials. */
export const maxVariables = 50

/** What an email takes from a template. */
export interface TemplateContent {
  /** Null if every email brings its own. */
  subject: string | null
  html: string
  /** Null: made from the html; '': no text. */
  text: string | null
  /** A mailbox, as in `Ann <ann@example.com>`; null if every email brings its own. */
  from: string | null
  replyTo: string[]
  variables: DeclaredVariable[]
}

/** A template as its owner writes it, with partials still as tags. */
export interface WrittenTemplate extends TemplateContent {
  /** Alias or id of the layout; null: none. */
  layout: string | null
}

/** The parts that may contain tags, parsed. */
export interface ParsedContent {
  subject: TemplateNode[] | null
  html: TemplateNode[]
  text: TemplateNode[] | null
}

/** What is wrong with the given parts: syntax errors and invalid mailboxes. `field` is the part's name. */
export function contentFaults(content: Partial<TemplateContent>): FieldFault[] {
  return [
    ...(['subject', 'html', 'text'] as const).flatMap((part) => templateFault(part, content[part])),
    ...mailboxFault('from', content.from),
    ...(content.replyTo ?? []).flatMap((mailbox, place) => mailboxFault(`reply_to.${place}`, mailbox)),
  ]
}

function templateFault(field: string, text: string | null | undefined): FieldFault[] {
  const parsed = parseTemplate(text ?? '')
  const fault = (what: string): FieldFault[] => [{ field, code: 'invalid_template', message: `The \`${field}\` field ${what}`, help: null }]
  if (!parsed.ok) return fault(`cannot be read at line ${parsed.line}. ${parsed.fault}`)
  return field === 'subject' && partialIn(parsed.insertions) !== null ? fault('has a partial, which is allowed only in html and text.') : []
}

/** The first partial of these insertions. */
export const partialIn = (insertions: Insertion[]): string | null => insertions.find(({ name }) => name !== null)?.name ?? null

function mailboxFault(field: string, text: string | null | undefined): FieldFault[] {
  const parsed = text === null || text === undefined ? null : parseMailbox(text)
  if (parsed === null || parsed.ok) return []
  return [{ field, code: 'invalid_email', message: `The \`${field}\` field is not a valid email address. ${parsed.fault}`, help: null }]
}

/** The parts of a content that was checked when it was saved, with its layout and partials inserted. */
export const parseContent = ({ subject, html, text }: Pick<TemplateContent, 'subject' | 'html' | 'text'>): ParsedContent => ({
  subject: subject === null ? null : parsedPart(subject),
  html: parsedPart(html),
  text: text === null ? null : parsedPart(text),
})

function parsedPart(text: string): TemplateNode[] {
  const parsed = parseTemplate(text)
  if (!parsed.ok) throw new Error(`a saved template has a syntax error at line ${parsed.line}: ${parsed.fault}`)
  const partial = partialIn(parsed.insertions)
  if (partial !== null) throw new Error(`the partial ${partial} of a template was not inserted`)
  return parsed.nodes
}
