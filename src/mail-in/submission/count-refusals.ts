import type { Metrics } from '../../platform/metrics/metrics.ts'
import { isLoginRefusal, type LoginRefusal, type SmtpHandlers } from '../smtp-server/smtp-session.ts'
import type { Reply } from '../../platform/smtp/reply.ts'

type Reason = keyof Metrics['refused']['smtp']

/** Why a submission got this reply (RFC 3463). */
export function refusalReason({ code, enhancedStatus }: Reply): Reason {
  const subject = enhancedStatus?.slice(1) ?? ''
  if (code === 535 || subject === '.7.8' || subject === '.7.0') return 'authentication'
  if (subject === '.7.1' || subject === '.7.13') return code < 500 ? 'rate_limit' : 'permission'
  if (subject === '.3.1') return 'storage'
  if (subject === '.5.4' || subject === '.5.0') return 'conflict'
  return subject === '.3.0' ? 'internal' : 'invalid'
}

/** The same handlers, but they count the clients refused before a message is read. */
export function countRefusals<User>(handlers: SmtpHandlers<User>, { refused }: Pick<Metrics, 'refused'>): SmtpHandlers<User> {
  const noted = (reply: Reply): Reply => {
    if (reply.code >= 400) refused.smtp[refusalReason(reply)].add()
    return reply
  }
  const { access } = handlers
  return {
    ...handlers,
    access:
      'anyone' in access
        ? access
        : { ...access, login: async (password, client) => notedIfRefusal(await access.login(password, client), noted) },
    mayBegin(user, client, mail) {
      const refusal = handlers.mayBegin(user, client, mail)
      return refusal instanceof Promise ? refusal.then((known) => known && noted(known)) : refusal && noted(refusal)
    },
  }
}

function notedIfRefusal<User>(answer: User | LoginRefusal, noted: (reply: Reply) => Reply): User | LoginRefusal {
  if (isLoginRefusal(answer)) noted(answer.reply)
  return answer
}
