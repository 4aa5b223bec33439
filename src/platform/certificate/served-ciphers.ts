/**
 * What our ports agree to, in our order. TLS 1.2 only with an ephemeral key exchange: what was recorded stays secret when the key of the
 * certificate is lost. Browsers and apps have known these for ten years.
 */
export const ciphersOfHttp = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20'

/** Also CBC, for mail servers and devices that know no more: without it they would send in plain text, or not at all. */
export const ciphersOfSmtp = `${ciphersOfHttp}:ECDHE+AES:!AESCCM`
