import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { postfixDirectory, startPostfixInstance, type PostfixInstance } from '../../bench/postfix-instance.ts'

/**
 * A Postfix that keeps all mail for rcpt.example in the Maildir `mail/box`, and offers STARTTLS, but no 8BITMIME.
 * @param services lines of master.cf for services of its own
 */
export async function startPostfixMailbox(
  listen: { host: string; port: number },
  settings: Record<string, string> = {},
  services = '',
): Promise<PostfixInstance> {
  const at = postfixDirectory()
  const mail = join(at, 'mail')
  mkdirSync(mail)
  execFileSync('chown', ['nobody', mail])
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'mx.rcpt.example' }], { keySize: 2048 })
  writeFileSync(join(at, 'tls.pem'), key + cert, { mode: 0o600 })
  const uid = execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).trim()
  const all = {
    myhostname: 'mx.rcpt.example',
    virtual_mailbox_domains: 'rcpt.example',
    virtual_mailbox_base: mail,
    virtual_mailbox_maps: 'static:box/',
    virtual_uid_maps: `static:${uid}`,
    virtual_gid_maps: `static:${uid}`,
    virtual_mailbox_limit: '0',
    message_size_limit: '52428800',
    smtpd_tls_security_level: 'may',
    smtpd_tls_cert_file: join(at, 'tls.pem'),
    smtpd_tls_key_file: join(at, 'tls.pem'),
    smtpd_relay_restrictions: 'reject_unauth_destination',
    smtpd_discard_ehlo_keywords: '8bitmime',
    ...settings,
  }
  return startPostfixInstance(at, listen, all, services)
}
