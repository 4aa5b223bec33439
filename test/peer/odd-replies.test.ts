import { expect, test } from 'vitest'
import { chosenReplies, oddForms, type MadeReply } from '../support/made-replies.ts'
import { livesWithPostfix } from '../support/replied-postfix.ts'
import { livesWithSterna, type ReplyLife } from '../support/reply-lives.ts'

const attempts = 2
const inWords = (life: ReplyLife | undefined): string => `${life?.state} ${life?.copies}`

const takesNoMail = ({ code }: MadeReply): boolean => code === 521 || code === 556
const isRefusal = ({ code }: MadeReply): boolean => code !== null && code >= 500 && code < 600
const isAboutCommand = ({ code }: MadeReply): boolean => code === 500 || code === 502 || code === 503
const isTransaction = ({ phase }: MadeReply): boolean => phase === 'mail' || phase === 'rcpt' || phase === 'data'
/** It is no refusal, and not what the phase needs. */
const isOutOfPlace = ({ phase, code }: MadeReply): boolean => {
  const kind = Math.floor((code ?? 0) / 100)
  return code !== null && kind !== 4 && kind !== 5 && (phase === 'data' ? code !== 354 : kind !== 2)
}

/** Where we differ from Postfix on purpose: what becomes of the mail with us, what with Postfix, and how often the host gets it. */
const differences: [why: string, of: (reply: MadeReply) => boolean, ours: RegExp, theirs: RegExp][] = [
  [
    'To Postfix a code ends with a space, a hyphen or the line. It waits for another reply, sends the mail again each time, and if ' +
      'commands were pipelined it takes the answer to one for that to another: the 221 to QUIT for a delivery, though the host said 550.',
    ({ form }) => oddForms.has(form),
    /./,
    /./,
  ],
  [
    'Words instead of a reply, or one that does not end: Postfix passes over them, which costs a copy each time, or the same confusion.',
    ({ code }) => code === null,
    /^(deferred 0|bounced 2)$/,
    /./,
  ],
  [
    'Words before a reply: so does Postfix. We too, but not while several replies are awaited, for any of which they may stand.',
    ({ form, pipelining }) => form === 'a line without a code first' && pipelining,
    /^deferred 0$/,
    /./,
  ],
  [
    'A code that is out of place (1yz, 3yz, 6yz; 250 to DATA) is a refusal for good to Postfix. Nobody has refused anything: we try again, ' +
      'after the whole message once at most.',
    isOutOfPlace,
    /^(deferred 0|bounced 2)$/,
    /^bounced [01]$/,
  ],
  [
    'A command that the host does not know or want now is no refusal of the mail: we try again, Postfix gives up.',
    (reply) => isTransaction(reply) && isAboutCommand(reply),
    /^deferred 0$/,
    /^bounced 0$/,
  ],
  [
    'EHLO and HELO refused are about us or the host, as a greeting is to Postfix too: we try again, Postfix gives up.',
    (reply) => reply.phase === 'ehlo' && isRefusal(reply) && !takesNoMail(reply),
    /^deferred 0$/,
    /^bounced 0$/,
  ],
  [
    'A greeting with 521 or 556 says that the host takes no mail (RFC 7504, 7505): we believe it, Postfix tries again.',
    (reply) => reply.phase === 'banner' && takesNoMail(reply),
    /^bounced 0$/,
    /^deferred 0$/,
  ],
]

test('replies, sensible or not, lead where they do with Postfix, but for differences with a reason', { timeout: 400_000 }, async () => {
  const replies = chosenReplies(24, 'strict')
  // One after the other: look-ups must not time out because Postfix has all of the machine.
  const ours = await livesWithSterna(replies, attempts)
  const theirs = await livesWithPostfix(replies, attempts)
  const unexplained = replies.flatMap((reply, i) => {
    const [our, their] = [inWords(ours[i]), inWords(theirs[i])]
    const isMeant = differences.some(([, of, of1, of2]) => of(reply) && of1.test(our) && of2.test(their))
    return our === their || isMeant ? [] : [{ ...reply, bytes: reply.bytes.slice(0, 60), our, their }]
  })
  expect(unexplained).toEqual([])
  // Postfix has been asked, and what is plain is plain to both.
  expect(theirs.filter(({ state }) => state === 'delivered').length).toBeGreaterThan(replies.length / 8)
})
