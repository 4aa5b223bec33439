import { resolve } from 'node:path'
import { plainValue, type YamlNode } from '../../platform/config/yaml-tree.ts'
import { readAtMost } from '../../platform/read-at-most.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** Where a value is kept: in a variable of whoever runs the command, or in a file. */
type Reference = { env: string } | { file: string }

/** What references lead to, by `env NAME` or `file PATH`: a text, or why there is none. */
export type ReferredTexts = Readonly<Record<string, { text: string } | { fault: string }>>

/** From where references are followed. */
interface ReferenceSources {
  env: Readonly<Record<string, string | undefined>>
  /** That of the file with the references, which relative paths start from. */
  directory: string
}

/** bytes; no part of a template may be as large */
const maxFileBytes = 6 * 1024 * 1024

/** The reference that a value is; undefined if it is none. */
export function referenceIn(value: unknown): Reference | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const [[kind, target] = [], ...more] = Object.entries(value)
  if (more.length > 0 || typeof target !== 'string') return undefined
  return kind === 'env' ? { env: target } : kind === 'file' ? { file: target } : undefined
}

/** The name of a reference in `ReferredTexts`. */
export const referenceName = (reference: Reference): string => ('env' in reference ? `env ${reference.env}` : `file ${reference.file}`)

/** Follows all references of a document, each once. */
export function followReferences(tree: YamlNode, sources: ReferenceSources): ReferredTexts {
  const texts: Record<string, { text: string } | { fault: string }> = {}
  const visit = (node: YamlNode): void => {
    if ('items' in node) node.items.forEach(visit)
    if (!('entries' in node)) return
    const reference = node.entries.length === 1 ? referenceIn(plainValue(node)) : undefined
    if (reference) texts[referenceName(reference)] ??= follow(reference, sources)
    else for (const entry of node.entries) visit(entry.node)
  }
  visit(tree)
  return texts
}

/** A fault never quotes the text. */
function follow(reference: Reference, { env, directory }: ReferenceSources): ReferredTexts[string] {
  if ('env' in reference) {
    const text = Object.hasOwn(env, reference.env) ? env[reference.env] : undefined
    return text ? { text } : { fault: `the variable ${reference.env} is not set.` }
  }
  const path = resolve(directory, reference.file)
  try {
    const bytes = readAtMost(path, maxFileBytes)
    if (bytes === null) return { fault: `${path} is larger than ${maxFileBytes} bytes.` }
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch (error) {
    return { fault: error instanceof TypeError ? `${path} is not UTF-8.` : `${path} cannot be read (${reasonOf(error)}).` }
  }
}
