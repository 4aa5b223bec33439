import type { FieldFault } from '../errors.ts'
import { parseMailbox } from '../smtp/address.ts'
import { parseTemplate } from './parse-template.ts'
import type { TemplateNode } from './parse-template.ts'

/** A variable that the owner has declared: it must be given, or has a fallback. */
export interface DeclaredVariable {
  key: string
  type: 'string' | 'number'
  fallbackValue: string | number | null
  /** Epoch, ms. */
  createdAt: number
  updatedAt: number
}

/** What a version of a template consists of. */
export interface TemplateContent {
  /** Null where every email brings its own. */
  subject: string | null
  html: string
  /** Null: made from the html; '': none. */
  text: string | null
  /** A mailbox, as in `Ann <ann@example.com>`; null where every email brings its own. */
  from: string | null
  replyTo: string[]
  variables: DeclaredVariable[]
}

/** The parts that hold tags, parsed. */
export interface ParsedContent {
  subject: TemplateNode[] | null
  html: TemplateNode[]
  text: TemplateNode[] | null
}

/** What is wrong with the parts that are given: what cannot be parsed, and what is no mailbox. `field` is the part's name. */
export function contentFaults(content: Partial<TemplateContent>): FieldFault[] {
  return [
    ...(['subject', 'html', 'text'] as const).flatMap((part) => templateFault(part, content[part])),
    ...mailboxFault('from', content.from),
    ...(content.replyTo ?? []).flatMap((mailbox, place) => mailboxFault(`reply_to.${place}`, mailbox)),
  ]
}

function templateFault(field: string, text: string | null | undefined): FieldFault[] {
  const parsed = parseTemplate(text ?? '')
  if (parsed.ok) return []
  return [{ field, code: 'invalid_template', message: `The \`${field}\` field cannot be read at line ${parsed.line}. ${parsed.fault}`, help: null }]
}

function mailboxFault(field: string, text: string | null | undefined): FieldFault[] {
  const parsed = text === null || text === undefined ? null : parseMailbox(text)
  if (parsed === null || parsed.ok) return []
  return [{ field, code: 'invalid_email', message: `The \`${field}\` field is not a valid email address. ${parsed.fault}`, help: null }]
}

/** The parts of a content that was checked when it was saved. */
export const parseContent = ({ subject, html, text }: Pick<TemplateContent, 'subject' | 'html' | 'text'>): ParsedContent => ({
  subject: subject === null ? null : parsedPart(subject),
  html: parsedPart(html),
  text: text === null ? null : parsedPart(text),
})

function parsedPart(text: string): TemplateNode[] {
  const parsed = parseTemplate(text)
  if (parsed.ok) return parsed.nodes
  throw new Error(`a saved template cannot be read at line ${parsed.line}: ${parsed.fault}`)
}
