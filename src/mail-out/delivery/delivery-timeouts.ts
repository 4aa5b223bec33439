/** How long each step may take, ms. */
export interface DeliveryTimeouts {
  connect: number
  /** How long one address of a host is tried before the next is tried beside it. */
  headStart: number
  banner: number
  /** EHLO, HELO, RSET, STARTTLS */
  command: number
  handshake: number
  mail: number
  rcpt: number
  data: number
  /** One block of the message data. */
  block: number
  dot: number
  /** A reply, once something came that is none, or that does not say what becomes of the message. */
  afterthought: number
  /** Everything that one attempt does, over all hosts. */
  attempt: number
}

const minute = 60_000

/** RFC 5321 4.5.3.2, and RFC 8305 8. */
export const standardTimeouts: DeliveryTimeouts = {
  connect: minute / 2,
  headStart: 250,
  banner: 5 * minute,
  command: 5 * minute,
  handshake: minute / 2,
  mail: 5 * minute,
  rcpt: 5 * minute,
  data: 2 * minute,
  block: 3 * minute,
  dot: 10 * minute,
  afterthought: minute / 12,
  attempt: 15 * minute,
}
