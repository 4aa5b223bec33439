import { SternaError } from '../../platform/errors.ts'
import type { WrittenSource } from './template-source.ts'

/** Templates that one template may consist of. */
const maxSources = 100
/** characters in total; each part may grow to 5 Mi */
const maxSourcesLength = 20 * 1024 * 1024

export interface FoundSource extends WrittenSource {
  partials: string[]
}

/** How a name is used, for the error if there is no such template. */
interface Mention {
  name: string
  isLayout: boolean
}

/**
 * The layout and partials of a template, their own layouts and partials, and so on, by the names that mention them. The layout of a partial
 * is ignored.
 * @param root with the names of its partials
 * @param read the published version of the template with this alias or id, and the names of its partials
 * @throws SternaError `validation_error` if one does not exist or is not published, or if there are too many or they are too long
 */
export async function findSources(root: FoundSource, read: (name: string) => Promise<FoundSource>): Promise<Map<string, WrittenSource>> {
  const found = new Map<string, FoundSource>()
  const waiting: Mention[] = []
  const names = new Set<string>()
  const seen = new Set<string>()
  let length = 0
  const add = (mentions: Mention[]): void => {
    for (const { name } of mentions)
      if (names.add(name).size > maxSources) throw tooMany(`A template can consist of at most ${maxSources} other templates.`)
    waiting.push(...mentions)
  }
  add(mentionsOf(root, { isLayout: true }))
  for (let mention = waiting.shift(); mention; mention = waiting.shift()) {
    const { name, isLayout } = mention
    if (seen.has(`${name} ${isLayout}`)) continue
    seen.add(`${name} ${isLayout}`)
    const source = found.get(name) ?? (await read(name).catch((error: unknown) => refuse(error, mention)))
    if (!found.has(name)) length += source.html.length + (source.text?.length ?? 0)
    found.set(name, source)
    if (length > maxSourcesLength) throw tooMany('The layouts and partials of this template are too long together.')
    add(mentionsOf(source, { isLayout }))
  }
  return found
}

const mentionsOf = (source: FoundSource, { isLayout }: { isLayout: boolean }): Mention[] => [
  ...(isLayout && source.layout !== null ? [{ name: source.layout, isLayout: true }] : []),
  ...Array.from(new Set(source.partials), (name) => ({ name, isLayout: false })),
]

const tooMany = (message: string): SternaError => new SternaError('validation_error', message)

function refuse(error: unknown, { name, isLayout }: Mention): never {
  if (!(error instanceof SternaError)) throw error
  const what = isLayout ? `The layout ${name}` : `The partial {{> ${name}}}`
  const message =
    error.code === 'template_not_published'
      ? `${what} has never been published. Publish it first.`
      : `${what} does not exist: there is no template with this alias or id.`
  const field = isLayout ? 'layout' : 'html'
  throw new SternaError('validation_error', message, { faults: [{ field, code: error.code, message, help: null }] })
}
