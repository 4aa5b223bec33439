/** The services whose webhooks a webhook can speak for, so that their receivers need no change. */
export const serviceNames = { sendgrid: 'SendGrid', postmark: 'Postmark', mailgun: 'Mailgun', resend: 'Resend', postal: 'Postal' } as const
export type ServiceShape = keyof typeof serviceNames
export const serviceShapes = Object.keys(serviceNames) as ServiceShape[]

/** What the body of a webhook is: our own, our own with more in it, or that of another service. */
export const payloadKinds = ['standard', 'extended', ...serviceShapes] as const
export type PayloadKind = (typeof payloadKinds)[number]

export const isServiceShape = (kind: PayloadKind): kind is ServiceShape => Object.hasOwn(serviceNames, kind)
