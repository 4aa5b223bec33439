import type { BounceRules } from './bounce-rules.ts'
import type { ReportPhrases, Said } from './report-phrases.ts'

/** All phrases that the parser knows. */
export interface Vocabulary {
  rules: BounceRules
  phrases: ReportPhrases
}

export interface HeaderField {
  /** Lower case. */
  name: string
  /** Unfolded, decoded (RFC 2047) and trimmed. */
  value: string
}

export interface ReturnedPart {
  /** `text/plain`, `message/delivery-status`: lower case, without parameters. An attached message is one part. */
  contentType: string
  /** Decoded and cut to a limit; HTML as plain text. Lines end with LF. */
  content: string
}

/** A parsed returned message: its header, its leaves in order, and the vocabulary to interpret it. */
export class ReturnedMessage {
  readonly headers: readonly HeaderField[]
  readonly parts: readonly ReturnedPart[]
  readonly vocabulary: Vocabulary

  constructor(headers: readonly HeaderField[], parts: readonly ReturnedPart[], vocabulary: Vocabulary) {
    this.headers = headers
    this.parts = parts
    this.vocabulary = vocabulary
  }

  /** The first field of this name (lower case); empty if there is none. */
  field(name: string): string {
    return valuesOf(this.headers, name)[0] ?? ''
  }

  /** True if it has any of these fields. */
  has(...names: string[]): boolean {
    return this.headers.some(({ name }) => names.includes(name))
  }

  /** The first part of this type. */
  part(contentType: RegExp): ReturnedPart | undefined {
    return this.parts.find((part) => contentType.test(part.contentType))
  }

  /** Its human-readable text: the first text part; empty if there is none. */
  get text(): string {
    const plain = this.parts.find(({ contentType, content }) => contentType === 'text/plain' && content.trim() !== '')
    return (plain ?? this.part(/^text\/html$/))?.content ?? ''
  }

  /** The parts that may contain fields but lost their type in transit. */
  get unlabelled(): string[] {
    const readable = this.parts.filter(({ contentType }) => contentType === 'text/plain' || contentType.startsWith('application/'))
    return readable.map(({ content }) => content)
  }

  says(text: string | Said, ...names: string[]): boolean {
    return this.vocabulary.phrases.says(text, ...names)
  }
}

/** The values of all fields of this name. */
export const valuesOf = (headers: readonly HeaderField[], name: string): string[] =>
  headers.filter((field) => field.name === name).map(({ value }) => value)
