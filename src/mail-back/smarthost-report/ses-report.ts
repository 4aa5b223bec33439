import {
  delivered,
  objectOf,
  statusOf,
  textOf,
  textOrNull,
  type DeliveryFate,
  type ReadEvent,
  type ReportJson,
  type SmarthostReport,
} from './smarthost-report.ts'

/** Reads an event that SES publishes to SNS, or a notification of it (developer guide: "Contents of event data", "Notification contents"). */
export const readSesEvent: ReadEvent = (event) => {
  const mail = objectOf(event['mail'])
  const said = saidBy(event)
  const reference = referenceIn(mail['headers'])
  return said === null || reference === '' ? null : { reference, address: said.address || firstOf(mail['destination']), said: said.said }
}

/** The header that SES returns is the message's own. */
function referenceIn(headers: unknown): string {
  const fields = Array.isArray(headers) ? headers.map(objectOf) : []
  return textOf(fields.find(({ name }) => textOf(name).toLowerCase() === 'x-sterna-ref')?.['value']).trim()
}

const firstOf = (list: unknown): string => (Array.isArray(list) ? textOf(list[0]) : '')

/** We hand over each message for one recipient, so each list has one entry. */
const onlyOf = (list: unknown): ReportJson => objectOf(Array.isArray(list) ? list[0] : undefined)

function saidBy(event: ReportJson): Pick<SmarthostReport, 'address' | 'said'> | null {
  switch (event['eventType'] ?? event['notificationType']) {
    case 'Delivery': {
      const { recipients, smtpResponse } = objectOf(event['delivery'])
      return { address: firstOf(recipients), said: delivered(textOrNull(smtpResponse)) }
    }
    case 'Bounce': {
      const { bouncedRecipients, bounceType, bounceSubType } = objectOf(event['bounce'])
      const recipient = onlyOf(bouncedRecipients)
      if (isAnswer(`${bounceType} ${bounceSubType}`, recipient)) return null
      const usual = bounceType === 'Permanent' ? '5.1.1' : bounceSubType === 'MailboxFull' ? '5.2.2' : '5.0.0'
      return {
        address: textOf(recipient['emailAddress']),
        said: { ...fateOf('failed', recipient, { usual, words: `${bounceType} ${bounceSubType}` }), isSoft: bounceType !== 'Permanent' },
      }
    }
    case 'DeliveryDelay': {
      const { delayedRecipients, delayType } = objectOf(event['deliveryDelay'])
      const recipient = onlyOf(delayedRecipients)
      return {
        address: textOf(recipient['emailAddress']),
        said: fateOf('delayed', recipient, { usual: '4.0.0', words: textOf(delayType) }),
      }
    }
    case 'Reject':
      return {
        address: '',
        said: { action: 'failed', status: '5.7.1', reply: null, words: textOrNull(objectOf(event['reject'])['reason']) },
      }
    case 'Complaint':
      return complaint(objectOf(event['complaint']))
    case 'Subscription': {
      const { newTopicPreferences } = objectOf(event['subscription'])
      return objectOf(newTopicPreferences)['unsubscribeAll'] === true ? { address: '', said: { feedbackType: 'opt-out' } } : null
    }
    default:
      return null
  }
}

/** An automatic reply of the recipient, such as that somebody is out of office, is reported without what a bounce has. */
const isAnswer = (type: string, { action, status, diagnosticCode }: ReportJson): boolean =>
  type === 'Transient General' && ![action, status, diagnosticCode].some((each) => textOf(each) !== '')

function fateOf(action: 'failed' | 'delayed', recipient: ReportJson, { usual, words }: { usual: string; words: string }): DeliveryFate {
  const reply = textOf(recipient['diagnosticCode']).replace(/^smtp;\s*/i, '')
  const isReply = /^[245]\d\d[ -]/.test(reply)
  return { action, status: statusOf(recipient['status']) ?? usual, reply: isReply ? reply : null, words: isReply ? null : reply || words }
}

/** With this subtype SES did not send the mail, because somebody has complained before. */
function complaint(told: ReportJson): Pick<SmarthostReport, 'address' | 'said'> {
  const address = textOf(onlyOf(told['complainedRecipients'])['emailAddress'])
  if (told['complaintSubType'] === 'OnAccountSuppressionList')
    return { address, said: { action: 'failed', status: '5.7.1', reply: null, words: 'OnAccountSuppressionList' } }
  return { address, said: { feedbackType: /^[a-z-]{1,40}$/.exec(textOf(told['complaintFeedbackType']).toLowerCase())?.[0] ?? 'abuse' } }
}
