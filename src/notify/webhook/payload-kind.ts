/** The services whose webhooks a webhook can speak for, so that their receivers need no change. */
export const serviceShapes = ['sendgrid', 'postmark', 'mailgun', 'resend', 'postal'] as const
export type ServiceShape = (typeof serviceShapes)[number]

/** What the body of a webhook is: our own, our own with more in it, or that of another service. */
export const payloadKinds = ['standard', 'extended', ...serviceShapes] as const
export type PayloadKind = (typeof payloadKinds)[number]

export const isServiceShape = (kind: PayloadKind): kind is ServiceShape => (serviceShapes as readonly string[]).includes(kind)
