import { spawn } from 'node:child_process'
import type { Points } from './rspamd.ts'

/**
 * Debian's SpamAssassin as it comes, without the network: what it says of each message.
 * @param home where it keeps what it learns
 */
export async function spamAssassin(messages: Buffer[], home: string): Promise<Points[]> {
  const words = ['--mbox', '--local', '--cf=add_header all Points _TESTSSCORES(,)_', '--cf=fold_headers 0']
  const program = spawn('spamassassin', words, { env: { ...process.env, HOME: home } })
  let [output, complaints] = ['', '']
  program.stdout.on('data', (bytes: Buffer) => (output += bytes.toString('latin1')))
  program.stderr.on('data', (bytes: Buffer) => (complaints += bytes.toString()))
  const ended = new Promise((resolve) => program.once('close', resolve))
  program.stdin.on('error', () => {})
  const mailbox = messages.map(
    (message, place) => `${separator}X-Place: ${place}\n${message.toString('latin1').replaceAll('\r\n', '\n')}\n`,
  )
  program.stdin.end(mailbox.join(''), 'latin1')
  await ended
  // They come back in an order of its own.
  const checked = output.split(/^From MAILER-DAEMON /m)
  return messages.map((_, place) => {
    const points = /^X-Spam-Points: (.*)$/m.exec(checked.find((text) => new RegExp(`^X-Place: ${place}$`, 'm').test(text)) ?? '')?.[1]
    if (points === undefined) throw new Error(`SpamAssassin did not check it: ${complaints}`)
    return pointsOf(points.trim())
  })
}

const separator = 'From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n'

/** `RULE=0.1,OTHER=-0.2`, or `none`. */
function pointsOf(text: string): Points {
  const rules = text === 'none' ? [] : text.split(',').map((rule) => rule.split('='))
  return Object.fromEntries(rules.map(([name, score]) => [name, Number(score)]))
}
