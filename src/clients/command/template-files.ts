import { readFile, stat } from 'node:fs/promises'
import { codeOf } from '../../platform/durable-file.ts'
import { SternaError } from '../../platform/errors.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** The files of one template, by the ending of their names. */
export const templateFileKinds = ['html', 'txt', 'subject', 'json'] as const

export type TemplateFileKind = (typeof templateFileKinds)[number]

/** bytes; no part of a template may be as large */
const maxFileBytes = 6 * 1024 * 1024

/**
 * A file's complete text; null if there is none.
 * @throws SternaError `invalid_parameter` if it cannot be read or is not UTF-8
 */
export async function textOfFile(path: string): Promise<string | null> {
  let bytes: Buffer
  try {
    const { size, isFile } = await stat(path).then((found) => ({ size: found.size, isFile: found.isFile() }))
    if (!isFile || size > maxFileBytes)
      throw new SternaError('invalid_parameter', `${path} is ${isFile ? 'too large for a template' : 'no file'}.`)
    bytes = await readFile(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    if (error instanceof SternaError) throw error
    throw new SternaError('invalid_parameter', `${path} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new SternaError('invalid_parameter', `${path} is not UTF-8. Save it as UTF-8.`, { cause: error })
  }
}
