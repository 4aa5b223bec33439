import { SternaError } from '../../../platform/errors.ts'
import { recipientTypes } from '../../../mail/message/envelope.ts'
import type { Submission } from '../../../mail/message/submission.ts'
import type { Accepted } from '../../../mail-in/submission/admission.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { maxRecipients } from '../../resource/email-submission.ts'
import { distinctAddresses } from '../../../platform/smtp/address.ts'
import { refusal } from '../../operation/validate.ts'
import type { CompatServices } from './compat-api.ts'
import { valuesOf, type Form } from './form-fields.ts'
import { isAtDomain } from './mailgun-email.ts'
import { customData, withPlainNames } from './mailgun-form.ts'
import { takeParameters } from './mailgun-header.ts'
import { mailgunOptions, type MailgunOptions } from './mailgun-options.ts'
import { mimeSubmission, type RawMessage } from './mime-submission.ts'
import { faultAt, mailboxList, type CompatFault } from './native-email.ts'

/** `from` and `subject` stand in the message itself; clients send them all the same. */
const known = new Set([...recipientTypes, 'message', 'from', 'subject'])

interface At {
  domain: string
  request: EmailRequest
  clientAddress: string
}

/**
 * Sends a raw message from a form. `to`, `cc` and `bcc` are the envelope alone; `from` and `subject` count as they stand
 * in the message.
 * @throws SternaError where it is refused; nothing was accepted
 */
export async function sendMime(form: Form, { domain, request, clientAddress }: At, services: CompatServices): Promise<Accepted> {
  const { content, recipients, options } = readMime(form)
  const submitter = options.isTest ? { ...request.submitter, sandbox: true } : request.submitter
  const message: RawMessage = {
    content,
    recipients,
    options,
    submitter,
    idempotencyKey: request.idempotencyKey,
    clientAddress: services.traceClients ? clientAddress : null,
  }
  const submission = await mimeSubmission(message, { ...services, now: services.clock.now() })
  checkAuthors(submission, domain)
  return services.accept(submission)
}

function readMime(given: Form): { content: Buffer; recipients: string[]; options: MailgunOptions } {
  const faults: CompatFault[] = []
  const form = withPlainNames(given)
  for (const [name] of form.fields) if (!known.has(name) && !/^[ov]:./.test(name)) faults.push(unsupported(name))
  const { content, fields } = takeParameters(messageIn(form, faults))
  if (fields.some(([name]) => name === 'recipient-variables')) faults.push(unsupported('X-Mailgun-Recipient-Variables'))
  const both = { fields: [...form.fields, ...fields], files: [] }
  const options = mailgunOptions(both, customData(both, faults), faults)
  const recipients = recipientsIn(form, faults)
  if (faults.length > 0) throw refusal(faults)
  return { content, recipients, options }
}

const unsupported = (name: string): CompatFault => ({
  ...faultAt(name, 'unknown_field', `The parameter ${name} is not supported with a raw message.`),
  error: 'unsupported_field',
})

function messageIn(form: Form, faults: CompatFault[]): Buffer {
  const messages = [
    ...form.files.filter(({ field }) => field === 'message').map((file) => file.content),
    ...valuesOf(form, 'message').map((text) => Buffer.from(text)),
  ]
  const [message = Buffer.alloc(0), second] = messages
  if (form.files.some(({ field }) => field !== 'message'))
    faults.push(faultAt('message', 'unknown_field', 'The only file of this form is message.'))
  if (message.length === 0) faults.push(faultAt('message', 'missing', 'The parameter message is missing: it is the whole message.'))
  if (second) faults.push(faultAt('message', 'invalid_value', 'The parameter message is given twice.'))
  return message
}

function recipientsIn(form: Form, faults: CompatFault[]): string[] {
  const recipients = recipientTypes.flatMap((name) =>
    valuesOf(form, name).flatMap((text) => (text === '' ? [] : mailboxList(text, name, faults).map(({ email }) => email))),
  )
  const addresses = distinctAddresses(recipients)
  if (addresses.length === 0) faults.push(faultAt('to', 'missing', 'The parameter to is missing.'))
  if (addresses.length > maxRecipients) {
    throw new SternaError(
      'too_many_recipients',
      `The message has ${addresses.length} recipients; to, cc and bcc may name ${maxRecipients} together.`,
    )
  }
  return addresses
}

function checkAuthors({ header }: Submission, domain: string): void {
  if (header.from.every(({ address }) => isAtDomain(address, domain))) return
  throw new SternaError('invalid_from_address', `The From of the message must be an address at ${domain}, the domain in the path.`)
}
