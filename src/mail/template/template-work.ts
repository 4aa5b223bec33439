import { RenderBudget } from './render-budget.ts'
import { renderComplete, renderTemplate, type RenderedTemplate } from './render-template.ts'
import { resolveTemplate, type ResolvedTemplate } from './resolve-template.ts'
import { contentFaults, parseContent, type TemplateContent } from './template-content.ts'
import { diffTemplates } from './template-diff.ts'
import { partialsOf, templateSource, type WrittenSource } from './template-source.ts'

type Rendered = Pick<TemplateContent, 'subject' | 'html' | 'text' | 'variables'>

interface Rendering {
  /** Where the caller gave the values, for error messages. */
  field: string
  /** Whether a variable without a value is an error. */
  isComplete: boolean
  /** Whether it ends with `OverBudget` where a small email would. */
  isSmall?: boolean
}

/** The most that is rendered where others wait: as much as a small request contains. */
export const smallRendering = { length: 64 * 1024, steps: 10_000 }

/** The work on templates that takes as long as their texts are: 5 MiB take a tenth of a second. Pure. */
export const templateWork = {
  faults: contentFaults,
  diff: diffTemplates,

  /** The partials of a version that was checked when it was saved. */
  partials: (written: WrittenSource): string[] => partialsOf(templateSource(written)),

  /** See `resolveTemplate`. */
  resolve: (root: WrittenSource, found: [name: string, source: WrittenSource][]): ResolvedTemplate =>
    resolveTemplate(templateSource(root), new Map(found.map(([name, source]) => [name, templateSource(source)]))),

  /** See `renderTemplate` and `renderComplete`. */
  render(content: Rendered, values: Record<string, unknown>, { field, isComplete, isSmall = false }: Rendering): RenderedTemplate {
    const room = isSmall ? new RenderBudget({ limits: smallRendering }) : null
    const template = { parsed: parseContent(content), variables: content.variables }
    return (isComplete ? renderComplete : renderTemplate)(template, values, { field, room })
  },
}

type Later<F> = F extends (...given: infer Given) => infer Result ? (...given: Given) => Promise<Result> : never

/** The same, done wherever it keeps nobody waiting. */
export type TemplateWork = { [Name in keyof typeof templateWork]: Later<(typeof templateWork)[Name]> }

/** Done at once, for programs where nobody waits. */
export const directTemplateWork: TemplateWork = {
  faults: async (...given) => templateWork.faults(...given),
  diff: async (...given) => templateWork.diff(...given),
  partials: async (...given) => templateWork.partials(...given),
  resolve: async (...given) => templateWork.resolve(...given),
  render: async (...given) => templateWork.render(...given),
}
