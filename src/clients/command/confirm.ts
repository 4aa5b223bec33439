import { createInterface } from 'node:readline/promises'
import { SternaError } from '../../platform/errors.ts'
import type { ParsedCommand } from './command-line.ts'
import { usageFault } from './command.ts'

/** Where a question can be asked. */
export interface Terminal {
  /** False if nobody sees the question or nobody can answer it. */
  isInteractive: boolean
  ask(question: string): Promise<string>
}

/**
 * Asks before a command destroys something, unless its command line says `--yes`.
 * @throws SternaError `invalid_parameter` if nobody can be asked, `invalid_state` if the answer is no
 */
export async function confirm({ command, input, isConfirmed }: ParsedCommand, terminal: Terminal): Promise<void> {
  const question = isConfirmed ? null : (command.asks?.(input) ?? null)
  if (question === null) return
  if (!terminal.isInteractive) {
    throw usageFault(`"sterna ${command.name}" asks first, and there is no terminal to ask on. Add --yes if you mean it.`)
  }
  const answer = await terminal.ask(`${question} [y/N] `)
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new SternaError('invalid_state', 'Not confirmed, so nothing was changed.')
}

/** The terminal of this process. Questions go to standard error: standard output holds only results. */
export const ownTerminal = (): Terminal => ({
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  async ask(question) {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // The end of the input, Ctrl-D, is an answer too.
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    try {
      return await Promise.race([lines.question(question), ended])
    } finally {
      lines.close()
    }
  },
})
