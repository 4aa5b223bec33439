import { diffLines, type LineDiff } from './line-diff.ts'
import type { ResolvedTemplate } from './resolve-template.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'

/** What differs in one part of a template. */
export interface DiffedPart extends LineDiff {
  part: 'subject' | 'from' | 'reply_to' | 'layout' | 'variables' | 'text' | 'html'
}

/** A version to compare: as written, or with layout and partials inserted. */
export const asSent = (written: WrittenTemplate, sent: ResolvedTemplate | null): WrittenTemplate =>
  sent === null ? written : { ...written, ...sent }

/** The parts that differ, shorter ones first. A missing part counts as empty. */
export function diffTemplates(before: WrittenTemplate, after: WrittenTemplate): DiffedPart[] {
  const parts = (['subject', 'from', 'reply_to', 'layout', 'variables', 'text', 'html'] as const).map((part) => ({
    part,
    ...diffLines(partText(before, part), partText(after, part)),
  }))
  return parts.filter(({ added, removed }) => added + removed > 0)
}

function partText(template: WrittenTemplate, part: DiffedPart['part']): string {
  switch (part) {
    case 'reply_to':
      return lines(template.replyTo)
    case 'variables':
      return lines(template.variables.map(variableText))
    case 'html':
    case 'text':
      return template[part] ?? ''
    default:
      return lines(template[part] === null ? [] : [template[part]])
  }
}

const lines = (texts: string[]): string => texts.map((text) => `${text}\n`).join('')

const variableText = ({ key, type, fallbackValue }: DeclaredVariable): string =>
  `${key}: ${type}${fallbackValue === null ? '' : ` = ${JSON.stringify(fallbackValue)}`}`
