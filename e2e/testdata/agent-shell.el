;;; agent-shell.el --- Drive agent-shell in batch Emacs -*- lexical-binding: t -*-

;; emacs -Q --batch -L … -l agent-shell.el COMMAND [ARG…] -- STEP…
;;
;; Steps: "prompt TEXT" prompts and waits for the end of the turn, "load" opens the session again in a new buffer, "share TEXT" prints
;; the session's id and waits until TEXT is shown, "choose KIND" has permissions answered with the option of that kind. All
;; that is shown is printed at the end of each step, "step STEP" at its beginning, and "permission KIND=ID…" for each permission, to the
;; standard error.

(require 'compat nil t) ; functions of Emacs 29, for Emacs 28
(unless (fboundp 'seq-keep)
  (defun seq-keep (function sequence)
    (delq nil (seq-map function sequence))))
(require 'agent-shell)
(setq agent-shell-session-strategy 'new
      agent-shell-session-restore-verbosity 'full
      agent-shell-show-welcome-message nil
      agent-shell-tool-use-expand-by-default t
      agent-shell-transcript-file-path-function nil)

(defvar drive-kind "allow_once")
(defvar drive-buffer nil)

(defun drive-wait (what done)
  "Wait until DONE returns something; WHAT names it."
  (let ((end (+ (float-time) 60)))
    (while (not (funcall done))
      (when (> (float-time) end)
        (drive-say (drive-text))
        (error "No %s within a minute" what))
      (accept-process-output nil 0.05))))

(defun drive-say (text)
  "Print TEXT, at once: what goes to the standard output waits until it is much."
  (princ text #'external-debugging-output))

(defun drive-text ()
  (with-current-buffer drive-buffer
    (buffer-substring-no-properties (point-min) (point-max))))

(defun drive-state (&rest path)
  (map-nested-elt (buffer-local-value 'agent-shell--state drive-buffer) path))

(setq agent-shell-permission-responder-function
      (lambda (permission)
        (let ((options (map-elt permission :options)))
          (drive-say (format "permission %s\n" (mapconcat (lambda (o) (format "%s=%s" (map-elt o :kind) (map-elt o :option-id))) options " ")))
          (funcall (map-elt permission :respond)
                   (map-elt (seq-find (lambda (o) (equal (map-elt o :kind) drive-kind)) options) :option-id))
          t)))

(defun drive-start (command id)
  "Start COMMAND, with a new session or that with ID."
  (setq drive-buffer
        (agent-shell--start
         :no-focus t :new-session t :session-id id :session-strategy 'new
         :config (agent-shell-make-agent-config
                  :identifier 'dragoman :mode-line-name "dragoman" :buffer-name "dragoman"
                  :shell-prompt "dragoman> " :shell-prompt-regexp "dragoman> "
                  :client-maker (lambda (buffer)
                                  (agent-shell--make-acp-client
                                   :command (car command) :command-params (cdr command) :context-buffer buffer)))))
  (drive-wait "session" (lambda () (and (drive-state :session :id) (not (drive-state :active-requests))))))

(let* ((words command-line-args-left)
       (command (seq-take-while (lambda (w) (not (equal w "--"))) words))
       (steps (nthcdr (1+ (length command)) words)))
  (setq command-line-args-left nil)
  (drive-start command nil)
  (dolist (step steps)
    (drive-say (format "step %s\n" step))
    (let ((rest (string-trim-left (string-remove-prefix (car (split-string step)) step))))
      (pcase (car (split-string step))
        ("prompt"
         (with-current-buffer drive-buffer
           (agent-shell-insert :text rest :submit t :no-focus t :shell-buffer drive-buffer))
         (drive-wait "request" (lambda () (drive-state :active-requests)))
         (drive-wait "end of the turn" (lambda () (not (drive-state :active-requests)))))
        ("choose" (setq drive-kind rest))
        ("load"
         (drive-start command (drive-state :session :id))
         (accept-process-output nil 1))
        ("share"
         (drive-say (format "shared-session %s\n" (drive-state :session :id)))
         (drive-wait "answer to the other client" (lambda () (string-search rest (drive-text)))))))
    (drive-say (drive-text))
    (drive-say "\n")))
(kill-emacs 0)
