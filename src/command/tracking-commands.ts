import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf, SternaError } from '../errors.ts'
import { newId } from '../id.ts'
import { messageLinks } from '../tracking/message-links.ts'
import { rewriteLinks, trackableLinks } from '../tracking/rewrite-links.ts'
import { trackingKeys } from '../tracking/tracking-token.ts'
import { argument, flagOption, textOption } from './command.ts'
import type { Command, CommandInput } from './command.ts'

/** Have no `run`: they need neither a server nor its data, so main.ts carries them out. */
export const trackingCommands: Command[] = [
  {
    name: 'tracking rewrite',
    args: ['FILE'],
    options: {
      charset: { type: 'string', value: 'NAME', doc: 'The charset of the file; utf-8 unless given.' },
      links: { type: 'boolean', doc: 'Prints the links that would be rewritten instead, a line of JSON each.' },
    },
    doc:
      'Prints a file of HTML with its links rewritten as in mail whose clicks are tracked, and no pixel. With --links: where in the ' +
      'file the value of each attribute lies (bytes, the end excluded), and where the link leads.',
  },
]

/** Where the links are that are only shown. */
const shownBase = 'https://track.example/t'

/** @throws SternaError `not_found`, `invalid_parameter` where the file cannot be read or the charset is not known */
export async function rewriteFile(input: CommandInput, now: number): Promise<Buffer> {
  const html = await htmlOf(input)
  const charset = textOption(input, 'charset') ?? 'utf-8'
  if (flagOption(input, 'links')) return Buffer.from(trackableLinks(html, charset).map((link) => `${JSON.stringify(link)}\n`).join(''))
  const keys = trackingKeys(() => randomBytes(32))
  const { clickUrl } = messageLinks({ messageId: newId('em', now), base: shownBase, keys })
  return Buffer.from(rewriteLinks(html, charset, clickUrl))
}

async function htmlOf(input: CommandInput): Promise<Buffer> {
  const file = argument(input, 0)
  try {
    return await readFile(resolve(input.cwd, file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new SternaError('not_found', `There is no file ${file}.`)
    throw new SternaError('invalid_parameter', `${file} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}
