import { hostOutcomeOf } from '../../mail-out/delivery/outcome.ts'
import { mxProviderOf } from '../../mail-out/delivery/mx-provider.ts'
import { formatReply } from '../../platform/smtp/reply.ts'
import { partyOf } from '../../readers/explanation/causes.ts'
import { explainAttempt } from '../../readers/explanation/explain-attempt.ts'
import type { Command, CommandInput, CommandOutput } from './command.ts'
import { outputOfFiles } from './named-files.ts'
import { readReplyLine, type ReplyLine } from './reply-line.ts'

/** Has no `run`: it needs neither a server nor its data, so main.ts runs it. */
export const replyCommands: Command[] = [
  {
    name: 'reply explain',
    needs: 'nothing',
    args: ['[FILE…]'],
    options: {},
    doc:
      'Explains what replies of other servers mean, as attempts are explained. Reads lines of JSON, {"host", "phase", "reply"}, from files, ' +
      'or else from standard input, and prints a line for each: {"cause", "owner", "effect", "hard", "next_step", "entry"}. ' +
      'The phase is banner, ehlo, starttls, mail, rcpt, data or dot, which is the end of the content; null if it is not known. ' +
      'docs/causes.md lists the causes, owners, effects and entries.',
  },
]

/** Reports files and lines that cannot be read on standard error, and still explains the others. */
export function explainReplies(input: CommandInput): Promise<CommandOutput> {
  const args = input.args.length === 0 ? ['-'] : input.args
  return outputOfFiles({ ...input, args }, function* (file, content) {
    for (const [place, line] of content.toString().split('\n').entries()) {
      if (line.trim() !== '') yield () => JSON.stringify(explain(readReplyLine(line, `${file}:${place + 1}`)))
    }
  })
}

function explain({ host, phase, reply }: ReplyLine) {
  // Where the phase is not known, the reply is most often about the recipient.
  const { outcome } = hostOutcomeOf(phase ?? 'rcpt', reply, host)
  const { code, owner, effect, advice, link, entry } = explainAttempt({
    outcome: outcome.type,
    smtpCode: reply.code,
    enhancedStatus: reply.enhancedStatus,
    reply: formatReply(reply),
    provider: host === null ? null : mxProviderOf(host),
    phase,
  })
  const isHard = outcome.type === 'bounced' && outcome.hard
  return {
    cause: code,
    owner: partyOf[owner],
    effect: effect ?? (isHard ? 'suppress' : outcomeEffects[outcome.type]),
    hard: isHard,
    next_step: link === null ? advice : `${advice} See ${link.replace(/^mailto:/, '')}`,
    entry,
  }
}

/** What becomes of the message, where the reply means nothing beyond it. */
const outcomeEffects = { delivered: 'deliver', deferred: 'defer', bounced: 'bounce' } as const
