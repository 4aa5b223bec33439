import { expect, test } from 'vitest'
import { isAboutCommand } from '../../src/mail-out/delivery/outcome.ts'
import { chosenReplies, type MadeReply } from '../support/made-replies.ts'
import { livesWithSterna } from '../support/reply-lives.ts'

const attempts = 3

/** What should become of an email after three attempts, and how many copies the host should have got. */
function rightFor({ phase, code, closes }: MadeReply): string {
  const kind = Math.floor((code ?? 0) / 100)
  if (phase === 'dot') {
    if (kind === 2) return 'delivered 1'
    if (kind === 5) return 'bounced 1'
    return kind === 4 ? `deferred ${attempts}` : 'bounced 2'
  }
  const right = { banner: kind === 2, ehlo: kind === 2, mail: kind === 2, rcpt: kind === 2, data: code === 354 }[phase]
  if (right && !closes) return 'delivered 1'
  // RFC 5321 4.5.3.1.10: it stands for 452.
  const isTooMany = phase === 'rcpt' && code === 552
  if (kind !== 5 || isTooMany) return 'deferred 0'
  if (phase === 'banner') return code === 521 || code === 556 ? 'bounced 0' : 'deferred 0'
  if (phase === 'ehlo') return (code === 521 || code === 556) && !closes ? 'bounced 0' : 'deferred 0'
  return isAboutCommand({ code: code ?? 0, enhancedStatus: null, text: '' }) ? 'deferred 0' : 'bounced 0'
}

test('replies, sensible or not, make no copy where one was decisive, and two at most where none was', async () => {
  const replies = chosenReplies(48, 'generous')
  const lives = await livesWithSterna(replies, attempts)
  const inWords = ({ phase, form, bytes }: MadeReply, end: string) => `${phase} ${form} ${JSON.stringify(bytes.slice(0, 60))}: ${end}`
  expect(lives.map(({ state, copies }, i) => inWords(replies[i] as MadeReply, `${state} ${copies}`))).toEqual(
    replies.map((reply) => inWords(reply, rightFor(reply))),
  )
})
