{{/* Names are short: KubeRay adds its own endings, and a label holds 63 characters. */}}
{{- define "reverie.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{- define "reverie.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- else if contains (include "reverie.name" .) .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "reverie.name" .) | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "reverie.selector" -}}
app.kubernetes.io/name: {{ include "reverie.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "reverie.labels" -}}
{{ include "reverie.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: reverie
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "reverie.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "reverie.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reverie.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* What every pod of this chart has in common. No pod speaks to the Kubernetes API. */}}
{{- define "reverie.pod" -}}
serviceAccountName: {{ include "reverie.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "reverie.container" -}}
image: {{ include "reverie.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.containerSecurityContext | nindent 2 }}
{{- end -}}

{{/* Where the state of record is. The database's URL holds a password, so it is no argument. */}}
{{- define "reverie.storageEnv" -}}
- name: REVERIE_CLOUD_STATE
  value: /var/lib/reverie
- name: HOME
  value: /tmp
- name: OMP_NUM_THREADS
  value: "1"
- name: REVERIE_CLOUD_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.database.secret }}, key: url}
- name: REVERIE_CLOUD_BLOBS_URL
  value: {{ .Values.blobs.url | quote }}
{{- if .Values.blobs.secret }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- name: {{ . }}
  valueFrom:
    secretKeyRef: {name: {{ $.Values.blobs.secret }}, key: {{ . }}}
{{- end }}
{{- end }}
{{- with .Values.cloud.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* How a process joins the Ray cluster. */}}
{{- define "reverie.rayEnv" -}}
- name: RAY_AUTH_MODE
  value: token
- name: RAY_AUTH_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ .Values.ray.tokenSecret }}, key: auth_token}
- name: RAY_USAGE_STATS_ENABLED
  value: "0"
- name: RAY_task_events_report_interval_ms
  value: "0"
- name: RAY_ROTATION_MAX_BYTES
  value: "16777216"
- name: RAY_ROTATION_BACKUP_COUNT
  value: "2"
{{- end -}}

{{- define "reverie.ray.name" -}}
{{ include "reverie.fullname" . }}-ray
{{- end -}}

{{- define "reverie.ray.address" -}}
{{ include "reverie.ray.name" . }}-head-svc:6379
{{- end -}}

{{/* The state folder: empty but for the keys, which actors open by path wherever they run. */}}
{{- define "reverie.stateMounts" -}}
- {name: state, mountPath: /var/lib/reverie}
- {name: signing-key, mountPath: /var/lib/reverie/signing.key, subPath: signing.key, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- end -}}

{{- define "reverie.stateVolumes" -}}
- name: state
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
- name: signing-key
  secret:
    secretName: {{ .Values.identity.signingKeySecret }}
    defaultMode: 288
    items: [{key: signing.key, path: signing.key}]
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- end -}}

{{- define "reverie.roleKeysVolume" -}}
- name: role-keys
  secret: {secretName: {{ .Values.identity.roleKeysSecret }}, defaultMode: 288}
{{- end -}}

{{- define "reverie.roleKeysMount" -}}
- {name: role-keys, mountPath: /var/lib/reverie/keys, readOnly: true}
{{- end -}}

{{/* Ray keeps sockets and logs in one folder and its object store in shared memory. */}}
{{- define "reverie.rayMounts" -}}
- {name: ray, mountPath: /tmp/ray}
- {name: shm, mountPath: /dev/shm}
{{- end -}}

{{- define "reverie.rayVolumes" -}}
- name: ray
  emptyDir: {sizeLimit: 4Gi}
- name: shm
  emptyDir: {medium: Memory, sizeLimit: 512Mi}
{{- end -}}

{{- define "reverie.tlsMount" -}}
- {name: tls, mountPath: /etc/reverie/tls, readOnly: true}
{{- end -}}

{{/* Behind an Ingress the pods get the certificate alone. */}}
{{- define "reverie.tlsVolume" -}}
- name: tls
  secret:
    secretName: {{ .Values.tls.secret }}
    defaultMode: 288
    items:
      - {key: tls.crt, path: tls.crt}
      {{- if eq .Values.tls.mode "gateway" }}
      - {key: tls.key, path: tls.key}
      {{- end }}
{{- end -}}

{{/* Options that every `serve` of one cloud has alike. */}}
{{- define "reverie.serveArgs" -}}
- serve
- --host=0.0.0.0
- --port=8770
- --budget={{ .Values.cloud.budget }}
- --aggregation={{ .Values.cloud.aggregation }}
- --intake-shards={{ .Values.cloud.intakeShards | int }}
- --refresh-seconds={{ .Values.cloud.refreshSeconds }}
- --drain-seconds={{ .Values.cloud.drainSeconds }}
- --log-level={{ .Values.cloud.logLevel }}
- --tls-cert=/etc/reverie/tls/tls.crt
{{- if eq .Values.tls.mode "gateway" }}
- --tls-key=/etc/reverie/tls/tls.key
{{- else }}
- --insecure
{{- end }}
{{- end -}}

{{- define "reverie.scheme" -}}
{{- if eq .Values.tls.mode "gateway" -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end -}}

{{- define "reverie.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: phones, scheme: {{ include "reverie.scheme" . }}}
  periodSeconds: 3
  failureThreshold: 100
livenessProbe:
  httpGet: {path: /healthz, port: phones, scheme: {{ include "reverie.scheme" . }}}
  periodSeconds: 15
  timeoutSeconds: 10
  failureThreshold: 4
readinessProbe:
  httpGet: {path: /readyz, port: phones, scheme: {{ include "reverie.scheme" . }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* What the process takes to end: the pause, running uploads, and closing. */}}
{{- define "reverie.grace" -}}
{{- add (int .Values.gateway.preStopSeconds) (ceil .Values.cloud.drainSeconds | int) 15 -}}
{{- end -}}
