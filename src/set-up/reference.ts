import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { SettingFault } from '../config/setting-types.ts'
import { plainValue, type YamlNode } from '../config/yaml-tree.ts'
import { messageOf } from '../errors.ts'

/** Where a value is kept: in a variable of whoever runs the command, or in a file. */
export type Reference = { env: string } | { file: string }

/** From where references are followed. */
export interface ReferenceSources {
  env: Readonly<Record<string, string | undefined>>
  /** That of the file with the references, which relative paths start from. */
  directory: string
}

/** bytes; no part of a template may be as large */
const largestFile = 6 * 1024 * 1024

/** The reference that a value is; undefined if it is none. */
export function referenceIn(value: unknown): Reference | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const [[kind, target] = [], ...more] = Object.entries(value)
  if (more.length > 0 || typeof target !== 'string') return undefined
  return kind === 'env' ? { env: target } : kind === 'file' ? { file: target } : undefined
}

/** The names of all variables that a document refers to. */
export function variablesIn(node: YamlNode): string[] {
  const reference = referenceIn(plainValue(node))
  if (reference) return 'env' in reference ? [reference.env] : []
  if ('entries' in node) return node.entries.flatMap((entry) => variablesIn(entry.node))
  return 'items' in node ? node.items.flatMap(variablesIn) : []
}

/**
 * The text that a reference leads to.
 * @throws SettingFault if it leads nowhere; it never quotes the text
 */
export function followReference(reference: Reference, { env, directory }: ReferenceSources): string {
  if ('env' in reference) {
    const value = env[reference.env]
    if (value) return value
    throw new SettingFault(`the variable ${reference.env} is not set.`)
  }
  const path = resolve(directory, reference.file)
  try {
    if (statSync(path).size > largestFile) throw new SettingFault(`${path} is larger than ${largestFile} bytes.`)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof SettingFault) throw error
    throw new SettingFault(error instanceof TypeError ? `${path} is not UTF-8.` : `${path} cannot be read (${messageOf(error)}).`)
  }
}
