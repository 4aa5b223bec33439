import type { BounceRules } from './bounce-rules.ts'
import type { ReportPhrases, Said } from './report-phrases.ts'

/** All the words that the parser knows. */
export interface Vocabulary {
  rules: BounceRules
  phrases: ReportPhrases
}

export interface HeaderField {
  /** Lower case. */
  name: string
  /** Unfolded and decoded (RFC 2047), without the white space around it. */
  value: string
}

export interface ReturnedPart {
  /** `text/plain`, `message/delivery-status`: lower case, without parameters. A message within the message is one part. */
  contentType: string
  /** Decoded to text, cut at a bound; of HTML the text without its markup. Lines end with LF. */
  content: string
}

/** A message that came back to us, as far as it is read: its header and its leaves in order, and the words to read it by. */
export class ReturnedMessage {
  readonly headers: readonly HeaderField[]
  readonly parts: readonly ReturnedPart[]
  readonly vocabulary: Vocabulary

  constructor(headers: readonly HeaderField[], parts: readonly ReturnedPart[], vocabulary: Vocabulary) {
    this.headers = headers
    this.parts = parts
    this.vocabulary = vocabulary
  }

  /** The first field of this name, given in lower case; empty where there is none. */
  field(name: string): string {
    return valuesOf(this.headers, name)[0] ?? ''
  }

  /** True where it has a field of one of these names. */
  has(...names: string[]): boolean {
    return this.headers.some(({ name }) => names.includes(name))
  }

  /** The first part of such a type. */
  part(contentType: RegExp): ReturnedPart | undefined {
    return this.parts.find((part) => contentType.test(part.contentType))
  }

  /** What it says for people: its first text; empty where there is none. */
  get text(): string {
    const plain = this.parts.find(({ contentType, content }) => contentType === 'text/plain' && content.trim() !== '')
    return (plain ?? this.part(/^text\/html$/))?.content ?? ''
  }

  /** What of it may hold fields that lost their label on the way. */
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
