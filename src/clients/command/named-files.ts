import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { codeOf } from '../../platform/durable-file.ts'
import { SternaError } from '../../platform/errors.ts'
import { reasonOf } from '../../platform/plain-reason.ts'
import type { CommandInput, CommandOutput } from './command.ts'

/** The bytes of a file that a command line names; `-` is standard input. @throws SternaError `not_found`, `invalid_parameter` if it cannot be read */
export async function contentOf(file: string, cwd: string): Promise<Buffer> {
  try {
    return file === '-' ? await buffer(process.stdin) : await readFile(resolve(cwd, file))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new SternaError('not_found', `There is no file ${file}.`)
    throw new SternaError('invalid_parameter', `${file} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}

/** Prints what is made of each file. What cannot be read is reported on standard error, and the rest is still printed. */
export async function outputOfFiles(
  { args, cwd }: CommandInput,
  linesOf: (file: string, content: Buffer) => Iterable<() => string | Promise<string>>,
): Promise<CommandOutput> {
  const result = { stdout: '', json: undefined, stderr: '', exitCode: 0 }
  const orTell = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step()
    } catch (error) {
      if (!(error instanceof SternaError)) throw error
      result.stderr += `sterna: ${error.message}\n`
      result.exitCode = 1
    }
  }
  for (const file of args)
    await orTell(async () => {
      const content = await contentOf(file, cwd)
      for (const line of linesOf(file, content)) await orTell(async () => void (result.stdout += `${await line()}\n`))
    })
  return result
}

/** @throws SternaError `invalid_state` if `work`, which writes this file, fails */
export async function writing(path: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw new SternaError('invalid_state', `${path} cannot be written (${reasonOf(error)}).`, { cause: error })
  }
}
